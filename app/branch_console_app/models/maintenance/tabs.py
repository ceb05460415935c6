"""The tabs of the maintenance page, by which addresses and the search name them."""

from enum import StrEnum


class MaintenanceTab(StrEnum):
    """A tab, as its label and as addresses have it."""

    HEALTH = "Health"
    EXPIRE = "Expire"
    ORPHANS = "Orphans"
    STORAGE = "Storage"
    TAGS = "Tags"
    RESCUE = "Rescue"
    POLICY = "Policy"

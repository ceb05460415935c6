"""Permissions: without a login everyone who reaches the console acts as operator."""

from enum import StrEnum

from branch_console.errors import ErrorKind, InvalidInput, NotAllowed


class Role(StrEnum):
    """The role of a user; each role may also do what the roles before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    APPROVER = "approver"
    OPERATOR = "operator"

    def covers(self, needed: "Role") -> bool:
        """Whether this role may do what `needed` may."""
        return _ORDER.index(self) >= _ORDER.index(needed)


_ORDER = tuple(Role)


def check_role(role: str, needed: Role, what: str) -> None:
    """Refuse what a role may not do.

    Args:
        role: The role of the actor, as the call carries it.
        needed: The least role that may.
        what: The refused action, as the end of "You may not …".

    Raises:
        NotAllowed: The role does not reach.
        InvalidInput: There is no such role.
    """
    try:
        own = Role(role)
    except ValueError:
        raise InvalidInput(
            f"{role!r} is no role. The roles are {', '.join(_ORDER)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
        ) from None
    if not own.covers(needed):
        raise NotAllowed(
            f"You may not {what}: it asks for {needed}, and your role is {own}. Nothing was "
            "changed.",
            kind=ErrorKind.ROLE_REQUIRED,
            role=str(own),
            needed=str(needed),
        )

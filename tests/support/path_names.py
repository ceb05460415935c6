"""Names of folders, read back."""


def unescape_path_name(name: str) -> str:
    """Undo `escape_path_name`; what is no escape stays."""
    head, *rest = name.split("%")
    parts = [head]
    for part in rest:
        digits = part[:2]
        is_escape = len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits)
        parts.append(chr(int(digits, 16)) + part[2:] if is_escape else f"%{part}")
    return "".join(parts)

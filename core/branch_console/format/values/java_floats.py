"""Floating point numbers as the texts that Java, and with it Paimon and Spark, writes."""

from typing import Any

import numpy as np


def java_float(value: np.floating[Any]) -> str:
    """The shortest digits that give the value back, in Java's layout: 1.0, 1.0E10, 1.0E-5."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(np.format_float_positional(value, trim="0"))
    mantissa, exponent = np.format_float_scientific(value, trim="0").split("e")
    if mantissa.endswith(".0") and len(mantissa.lstrip("-")) == 3:
        # Java writes two digits at least, and of those the nearest: 4.9E-324, not 5.0E-324.
        mantissa, exponent = f"{float(value):.1e}".split("e")
    return f"{mantissa}E{int(exponent)}"

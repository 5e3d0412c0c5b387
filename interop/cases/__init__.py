"""Every round trip; importing this package registers them."""
from cases import (a_made_by_reference, b_made_by_vaultctl, c_same_clone, d_names, e_shapes, f_read_only,  # noqa: F401
                   g_trees, h_random)

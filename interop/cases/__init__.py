"""Every round trip."""
from cases import d_names, h_random, q_scenarios
from cases import (a_made_by_reference, b_made_by_vaultctl, c_same_clone, e_shapes, f_read_only, g_trees,  # noqa: F401
                   i_bad_input, j_documents, k_server, l_http, m_sync_weaknesses, m_transport_weaknesses, n_merges,
                   o_branches, p_undo, q_tags, r_maintenance, r_terminal, s_partial, t_pki, t_pki_tampered)


def register(rounds, scenarios):
    """Importing this package registers the fixed cases; this adds `rounds` of each random one, and the scenarios."""
    for module in (d_names, h_random):
        module.register(rounds)
    q_scenarios.register(scenarios)

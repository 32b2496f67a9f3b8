"""Variants of tests that differ in size from others, not in kind: only ``pytest -m whole`` runs them."""

from __future__ import annotations

import re

#: Tests of what is around kgen (recipes, sanitizers, builds, NVRTC), which ``.ci/run`` runs in a step of their own.
APART = (
    "recipes/", "sanitize/", "package/test_build.py", "cpu/test_planted.py", "codegen/test_spelling_compiles.py",
)  # fmt: skip

#: Generated files that differ from another one in a dtype alone.
_OTHER_DTYPES = r"(axpy|adam|causal_mask|quantize|rotate|softmax)_(bf16.*|f16|f64|c128)"

#: By file and test: a regular expression over the whole of the parameters' names; "" where a test has none.
VARIANTS: dict[str, dict[str, str]] = {
    # Each program once: for one target in Python, for the other one in C.
    "calls/test_batches.py": {"test_dense": r".*-(3|256|513)", "test_rows": r".*-shape[02]"},
    "calls/test_layout_classes.py": {
        "test_launches_are_the_full_paths": r"python-.*-any GPU from sm_75 up|c-.*-sm_90 and later",
        "test_kernels_for_sizes_within_a_factor_of_four_are_as_fast": r"python",
    },
    "calls/test_scratch.py": {"test_threads": r"python-split", "test_one_plan_in_many_threads": r"python-split"},
    "calls/test_stored_call.py": {
        "test_another_call_is_lowered": r"python-.*", "test_another_program_is_lowered": r"python-.*",
    },
    "calls/test_stored_lowering.py": {
        "test_a_later_process_imports_neither_stages_nor_templates": r".*let e = .*",
    },
    "calls/test_tune.py": {
        "test_a_failure_of_the_usual_kernels_is_the_callers": "python",
        "test_a_table_whose_kernels_fail_is_left_out": "python", "test_an_input_may_be_called_progress": "python",
        "test_another_tables_kernel_is_taken_where_it_is_faster": "python",
        "test_launches_that_differ_in_blocks_are_timed": "python", "test_results_of_one_call_are_in_memory": "python",
    },
    "calls/test_units.py": {"test_every_layout": r"python-shape(4|9|10|15|16)-.*"},
    "cli/test_failures.py": {"test_a_full_disk": r"kgen (explain .*|compile .* > /dev/full)"},
    "codegen/test_signed_bytes.py": {
        "test_signs_are_kept": r"(?!out = a \+ b > c|s = max).*-(units|gaps|transposed|alternating)",
    },
    "codegen/test_values.py": {"test_the_text_computes_what_the_contract_says": r"(i16|u16|u32|i64|u64)(-.*)?"},
    "complex/test_accuracy.py": {"test_powers": r"complex64-.*", "test_quotients": r"complex64-.*"},
    "cpu/test_cached.py": {"test_compiling_clearing_and_killing": "", "test_the_compiler_ends_with_kgen": r"2|15"},
    "edge/test_edges.py": {"test_edge_values": r"f16|bf16|u64|i64|c64|u8|bool", "test_edge_values_as_for_users": r"i8"},
    "fuzz/test_fuzz.py": {"test_random_programs": r"[2-9]"},
    "fuzz/test_layouts.py": {"test_any_layout": r"[1-3]"},
    "fuzz/test_reductions.py": {"test_random_reductions": r"[1-4]"},
    "fuzz/test_regressions.py": {"test_arguments_with_commas": r"sinpi|rsqrt|[lt]gamma|y1|min|fm.*"},
    "fuzz/test_updates.py": {"test_every_cut_computes_the_program": r"[23]", "test_random_updates": r"[23]"},
    "gradients/test_programs.py": {"test_operators": r"\*\*-shapes1"},
    "hostile/test_growth.py": {
        "test_defs_that_multiply": r"places|choices|literals|params", "test_many_arguments_ahead_of_time": "",
    },
    "hostile/test_names.py": {
        "test_names_of_inputs": r"static|friend|wchar_t|cudaStream_t|expf|c0|wrap_add|using|else|nan_min|assert",
    },
    "hostile/test_programs.py": {
        "test_a_program_of_one_megabyte": "", "test_accepted": r"a chain of 3,000 choices",
    },
    "ir/test_functions.py": {"test_the_oracle_is_nearly_correctly_rounded": r"y[n1]-float32"},
    "launcher/test_decisions.py": {"test_open_extents": r"any_columns", "test_every_length_has_a_kernel": r"f32|f16"},
    "launcher/test_results.py": {"test_programs": r"any_columns|three_outputs|places"},
    "launcher/test_wrong_arguments.py": {"test_sanitizers": r"elements|several"},
    "reductions/bits/test_few.py": {
        "test_few_rows": r"dense-float16|misaligned-float32|columns-float32",
        "test_more_threads_add_in_the_order_of_many": r".*-float(16|64)",
    },
    "reductions/bits/test_mixed_layouts.py": {
        "test_every_schedule_gives_the_same": r".*-(30|16|65)",
        "test_walks_that_load_ahead_give_the_same": r"layouts[12]--1",
    },
    "reductions/bits/test_nested.py": {"test_floats": r"float32-.*"},
    "reductions/bits/test_number_of_rows.py": {
        "test_bits": r"(add_rmsnorm|layernorm|cross_entropy|moments)-(100|5120|40000)|softmax-(100|1001|40000)",
    },
    "reductions/bits/test_random.py": {"test_random_programs_by_random_ways": r"[1-3]"},
    "reductions/bits/test_schedules.py": {
        "test_floats_by_every_schedule": r"\(12, 1001\)-columns|\(23, 24\)-dense", "test_other_floats": r"3-.*",
        "test_as_chosen": r"200-4096-bfloat16", "test_integers": r"[059]-.*",
    },
    "reductions/bits/test_threads.py": {
        "test_floats": r"1000-dense-1|1000-columns-0|100-misaligned-1", "test_other_types": r"complex128-dense",
    },
    "reductions/test_aot.py": {"test_any_number_of_rows": r".*-(3|100|8192)-(None|sm_90)"},
    "reductions/test_bytes.py": {"test_exact": r"\((300, 4096|20000, 32)\)-(bool|uint16)-.*"},
    "reductions/test_column_tiles.py": {
        "test_tiles": r".*float64.*|.*uint8.*", "test_whole_short_columns": r".*(float16|uint8).*",
        "test_runs_at_odd_addresses": r"(float16|int8)-True|(bfloat16|uint8)-False",
    },
    "reductions/test_columns.py": {
        "test_any_number_of_columns": r"24|66", "test_columns_apart": r"shape1-.*|shape[02]-int8",
        "test_rows_of_one_element": r"shape1-(?!(sum|var|argmin)$).*", "test_shared_columns": r"shape1-(float64|int8)",
    },
    "reductions/test_complex.py": {"test_compiles_for_gpus": r".*-c128", "test_values": r".*-complex64"},
    "reductions/test_copies.py": {"test_every_way_has_the_same_bits": r"\((1, 2, 0|0, 2, 1|2, 0, 1)\)"},
    "reductions/test_contract.py": {"test_mean_beside_var": r"(100|4000)-.*"},
    "reductions/test_evict_last.py": {"test_large": "8|100|256|4096|8192"},
    "reductions/test_fusion.py": {"test_values": r".*-129-.*"},
    "reductions/test_in_turn.py": {"test_results_are_those_of_threads_across_first": r"(3|5|8|15)-.*"},
    "reductions/test_kernels.py": {"test_only_a_threads_last_group_may_be_outside": r".*-(f64|uint8)"},
    "reductions/test_odd_rows.py": {
        "test_values": r"\((140|33|5, 1024|9|50, 7|70, 100|5, 1001).*", "test_many_rows": r"\(1030, 7\)-1",
    },
    "reductions/test_persistent.py": {"test_shared_memory": r"(f64|f32)-.*"},
    "reductions/test_resident_columns.py": {"test_every_layout": r"[02]-.*", "test_every_kind": r"\((40|3, 300).*"},
    "reductions/test_row_operands.py": {
        "test_several_groups_are_loaded_ahead_of_their_stores": r".*-(15872|32768|16380)-.*",
        "test_where_no_rows_are_written_only_rows_are_loaded_ahead": "4096",
    },
    "reductions/test_updates.py": {"test_long_chains": r"in turn", "test_work_is_linear": r"whole rows|all of them"},
    "schedule/test_number_of_rows.py": {
        "test_the_order_of_a_sum": r".*norm.*-any|(softmax|quantise|moments|cross.*)-sm_90",
    },
    "runtime/test_processes.py": {"test_many_writers_and_a_vandal": ""},
    "snapshots/test_compiles.py": {
        "test_kernels_wait_before_they_access_memory": _OTHER_DTYPES, "test_nvrtc": f"{_OTHER_DTYPES}-one",
    },
    "snapshots/test_generated.py": {"test_same_text_in_another_process": r"4242"},
    "syntax/test_robust.py": {
        "test_long_programs": r"(def f0|let t0|out = a \*\*|out = a \? b|input a0).*",
        "test_long_mistakes": r"(x = \(a\]|x = a \+\+|x = a // c|a = b).*",
    },
}  # fmt: skip


def is_variant(file: str, name: str) -> bool:
    """``file``: its path below ``tests/``; ``name``: of a test, with its parameters."""
    if file.startswith(APART):
        return True
    test, _, parameters = name.partition("[")
    pattern = VARIANTS.get(file, {}).get(test)
    return pattern is not None and re.fullmatch(pattern, parameters.removesuffix("]"), re.DOTALL) is not None

"""Lesson 09, attention that scales: bytes, a cache, windows, shared heads, chunks of queries and blocks of keys."""

LESSON = "09_efficient_attention"
NAMES = (
    "attention_matrix_bytes",
    "batched_self_attention",
    "kv_cache_bytes",
    "sliding_window_mask",
    "grouped_query_attention",
    "attend_with_cache",
    "chunked_attention",
    "online_attention",
    "quiz_09",
)

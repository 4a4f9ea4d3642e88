"""Lesson 09, attention that scales: whole batches, chunks of queries, blocks of keys, and a cache."""

NAMES = (
    "batched_self_attention",
    "attention_matrix_bytes",
    "chunked_attention",
    "online_attention",
    "attend_with_cache",
    "kv_cache_bytes",
    "quiz_09",
)

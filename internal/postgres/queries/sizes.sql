-- name: RanOut :one
-- Earlier attempts of a task that ran out of memory or disk.
SELECT count(*)::bigint FROM attempts WHERE task_id = @task_id AND number < @before AND failure_class = @failure_class;

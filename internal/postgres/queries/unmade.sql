-- name: SandboxUnmade :execrows
-- Ends a row whose making never began; whoever would begin now is refused by its state.
UPDATE sandboxes SET state = 'gone', gone_at = now(), ended_at = coalesce(ended_at, now()), verified_at = now()
WHERE id = @id AND state = 'intended';

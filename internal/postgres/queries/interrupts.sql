-- name: Interrupters :many
-- Of each of these sandboxes who sent the newest interrupt for which its agent has stopped.
SELECT DISTINCT ON (sandbox_id) sandbox_id, sender_kind FROM messages
WHERE sandbox_id = ANY (@ids::text[]) AND kind = 'interrupt' AND state = 'answered'
ORDER BY sandbox_id, ordinal DESC;

-- name: InstallationID :one
SELECT id FROM installation;

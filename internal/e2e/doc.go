// Package e2e tests omoi as it runs: real processes of the real binary, a real PostgreSQL, a
// real Temporal server, real git and real sandboxes, with SIGKILL where it hurts. It holds
// nothing but tests; the bad network that some of them need is in hostile.
package e2e

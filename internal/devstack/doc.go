// Package devstack starts what omoi needs and a laptop does not have running: a private
// PostgreSQL and the Temporal development server.
//
// Authority: the holder of the lock file in OMOI_HOME owns everything below it. Parts
// are children of that process and get a signal from the kernel when it dies (Linux), so
// kill -9 leaves nothing for long; the next start waits for what is still going down, or
// ends it, and never trusts a bare pid. A part that dies alone is started again on the
// same address with the same data. Data outlives every process; deleting OMOI_HOME (and,
// as root, the folder below /var/lib/omoi that is named after it) is a full reset.
package devstack

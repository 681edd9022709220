// Package devstack starts the components of omoi dev: a private PostgreSQL and the Temporal development server.
//
// The holder of the lock file in OMOI_HOME owns everything below that directory. Components are child processes; on
// Linux the kernel signals them when omoi dies. The next start waits for components of a killed omoi or ends them, and
// identifies a process by more than its PID. A component that exits is restarted on the same address with the same
// data. Data is kept until OMOI_HOME is deleted, and, as root, the directory below /var/lib/omoi that is named after
// its hash.
package devstack

// Package app wires the parts together: it is the only place that knows every one of them.
// [RunAPI], [RunWorker] and [RunDev] are what the commands of the same names do; they
// return when ctx ends and everything has stopped, so a test runs the same values as the
// binary does.
//
// Order of a stop: first the HTTP server, which answers what it has begun, then intake,
// relay and worker, last the stack of omoi dev below them. Agents in sandboxes go on and
// spool what they cannot send.
package app

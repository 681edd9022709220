// Package app wires all components together. [RunAPI], [RunWorker] and [RunDev] implement the commands omoi api, omoi
// worker and omoi dev. Each returns after ctx has ended and all services have stopped, so tests run the same code as
// the binary.
//
// Services stop in this order: the HTTP server, which completes its requests, then ingest, relay and worker, last the
// servers of omoi dev. Agents of an API or worker process keep running and spool their events.
package app

// Package api is the HTTP API: thin on purpose. It parses, checks who asks, calls a port
// and answers. It speaks neither SQL nor Redis nor Temporal: each file declares the small port
// that it needs, deps.go lists them, and [New] takes them.
//
// The routes stand in routes.go. Each one is a typed request, a typed response and a
// function; everything that is HTTP happens around them:
//
//	request id, recover, access log, security headers   handler.go
//	/t/<token> prefix, gzip bodies                      prefix.go, handler.go
//	who asks, and what the route asks for               auth.go
//	errors as RFC 9457 documents                        errors.go
//
// The routes under /api/v1/sandboxes/{sandbox_id} keep the form of the system that omoi
// replaces: unknown body fields are ignored there, and 200 is the only success.
package api

// Package api is the HTTP API. A handler parses the request, checks access, calls a port and responds. It uses neither
// SQL nor Redis nor Temporal: each file declares the small port that it needs, deps.go lists the ports, and [New] takes
// them.
//
// routes.go lists the routes. Each one is a typed request, a typed response and a function. These files do the HTTP
// work around it:
//
//	request ID, recovery, access log, security headers   handler.go
//	prefix /t/<token>, gzip bodies                       prefix.go, handler.go
//	authentication and authorization                     auth.go
//	errors as RFC 9457 documents                         errors.go
//
// The routes under /api/v1/sandboxes/{sandbox_id} keep the form of the legacy API: they ignore unknown body fields, and
// 200 is the only status of success.
package api

// Package api holds what an omoi server answers, and what it is sent, against the
// committed OpenAPI document.
//
// Every answer must have a declared status, a declared content type and a body that fits its
// schema; so must every data line of a stream of events. Paths that the document does not
// know must answer that there is no such route.
package api

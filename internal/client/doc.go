// Package client is the typed HTTP client of omoi's API, and the shapes that travel
// over it; the server and the command line share both. Errors are *task.Error with the
// code that the server meant.
package client

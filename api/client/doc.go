// Package client is the typed HTTP client of omoi's API, and the shapes that travel over it; the server and the command
// line share both. Errors are *task.Error with the code that the server meant.
//
// A type without JSON names is no body: filters become parameters of a URL, and queries and changes, for example
// [TaskQuery] and [TaskChange], are what the server asks of its store.
package client

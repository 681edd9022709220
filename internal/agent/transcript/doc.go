// Package transcript sends the growing transcript of an agent's run to the API, and fetches that of an earlier attempt.
// The package sends complete lines without secrets. Each piece has the length and checksum of what precedes it, so that
// the API appends it at the right position or rejects it.
package transcript

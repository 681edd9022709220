// Package diagnosis finds out why tasks fail again and again, keeps what it found, and tells it: the agent of the next
// attempt by a message, and whoever wants to know by a signed webhook. What is thought of a failure is package
// supervise's; this one looks, keeps and tells. Nobody is told twice by a message, and by a webhook at least once.
package diagnosis

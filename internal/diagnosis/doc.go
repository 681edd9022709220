// Package diagnosis determines why tasks fail repeatedly and stores the diagnosis. It sends the diagnosis to the agent of the
// next attempt as a message, exactly once, and to the configured receiver as a signed webhook, at least once. Package
// supervise judges the failures.
package diagnosis

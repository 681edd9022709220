// Package live notifies waiting readers: streams, long polls, the relay. A notification carries no data: its receiver
// reads the store. Notifications are coalesced, never block, and may be lost, which only costs latency, since every
// reader also polls.
package live

// Bus is implemented by [Local] and [Redis]. It is safe for concurrent use.
type Bus interface {
	// Wake notifies every subscriber of topic. It never blocks.
	Wake(topic string)
	// Subscribe returns a channel that is ready after a notification of topic, and a function that ends the
	// subscription. Subscribe before reading the store, so that no change in between is missed. The channel is never
	// closed.
	Subscribe(topic string) (<-chan struct{}, func())
	// Watch collects the topics of all notifications until the function is called.
	Watch() (*Watch, func())
	// Close ends the bus; later calls do nothing.
	Close() error
}

// Relay is the topic of the relay: a task is due.
const Relay = "relay"

// Sandbox returns the topic of new events of a sandbox.
func Sandbox(sandboxID string) string { return "sandbox:" + sandboxID }

// Task returns the topic of a task: new events, a new status, a settled command.
func Task(taskID string) string { return "task:" + taskID }

// Messages returns the topic of new messages to a sandbox.
func Messages(sandboxID string) string { return "messages:" + sandboxID }

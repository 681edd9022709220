// Package live notifies waiting readers: streams, long polls, the relay.
// A wake-up carries nothing; who is woken reads the store. Wake-ups coalesce, are never
// waited for and may be lost, which costs latency and nothing else, so every waiter looks
// again by itself after a while.
package live

// Bus is what both forms, [Local] and [Redis], offer. It is safe for concurrent use.
type Bus interface {
	// Wake wakes every subscriber of topic. It never blocks.
	Wake(topic string)
	// Subscribe returns a channel that is ready after a wake-up of topic, and a function
	// that ends the subscription. Subscribe before reading the store, or news that come
	// between are missed. The channel is never closed.
	Subscribe(topic string) (<-chan struct{}, func())
	// Watch collects the topics of all wake-ups until the function is called.
	Watch() (*Watch, func())
	// Close ends the bus; later calls do nothing.
	Close() error
}

// Relay is the topic on which the relay is woken: something is due to be sent.
const Relay = "relay"

// Sandbox is the topic of new events of a sandbox.
func Sandbox(sandboxID string) string { return "sandbox:" + sandboxID }

// Task is the topic of a task: new events, a new status, a settled command.
func Task(taskID string) string { return "task:" + taskID }

// Messages is the topic of new messages to a sandbox.
func Messages(sandboxID string) string { return "messages:" + sandboxID }

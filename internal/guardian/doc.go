// Package guardian analyzes and steers active agents. Package supervise judges the stored events of an attempt, and the
// escalation policy decides on an intervention. A cycle analyzes every active sandbox once. An analysis and its
// intervention are one write, and the ID of an intervention is the idempotency key of its message or command, so that a
// cycle that is killed leaves no partial result.
package guardian

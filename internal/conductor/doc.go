// Package conductor analyzes the agents of an organization together: how well they serve their goals, their load, and
// duplicates among them. Package supervise finds equal and nearly equal texts; a model is asked once about each new task.
// The conductor records duplicates as links and sends no messages to agents.
//
// A cycle analyzes each organization once. An analysis and its links are one write, whose key is the cycle and the
// organization, so that a cycle that is killed leaves no partial result.
package conductor

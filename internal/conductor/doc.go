// Package conductor looks at the agents of an organization together: how well they serve their
// goals, how the load lies, and who of them does the same. It brings together what is stored, what
// package supervise thinks of it, and a model for the pairs of whom counting words cannot tell. It
// links, it does not stop: nothing here says a word to an agent.
//
// A cycle looks at each organization once. Whoever dies in the middle of one leaves nothing half
// done: an analysis and its links are one write, whose key is the cycle with the organization.
package conductor

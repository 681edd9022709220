// Package acp runs coding agents that speak the Agent Client Protocol: JSON-RPC 2.0, one message a line, over standard
// input and output. One client serves all agents; a [Dialect] says how an agent differs.
//
// The client believes no stop reason: a turn that the agent calls successful is checked for the failure of the model's
// provider ([talk.Failure]), and the work by package continuous. Unknown messages become events, unknown requests are
// refused at once, and no damaged line ends the connection.
package acp

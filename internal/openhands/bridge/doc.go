// Package bridge lets an OpenHands agent server speak the Agent Client Protocol, so that the runtime of all agents that speak it
// ([github.com/omoi-dev/omoi/internal/agent/acp]) drives OpenHands too. The bridge starts a server of its own, or uses one that exists.
//
// The events that the server has stored are the truth: the bridge reads them from a cursor. Webhooks of its own server only wake it.
package bridge

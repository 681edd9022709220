// Package openhands is a client of the OpenHands agent server for the calls that omoi needs, and starts such servers. What the server does
// was read and run with version [Tested]; the client decodes leniently, since later versions add fields and kinds of events.
package openhands

// Package openhands is the sandbox provider whose sandboxes are folders on the machine of an OpenHands agent server. The server gives a shell
// and files ([openhands.Client]); omoi puts omoi-agent there, which carries out each call with the local provider of that machine (package
// place). So sandboxes have the locks, tombstones and process trees of local ones: a create is fenced by a delete, also if its request comes
// late. They are isolated from each other and from the server only if the machine has bubblewrap and the configuration asks for it.
//
// Requests with secrets are uploaded as files, since the server keeps the text of each shell command in its log.
package openhands

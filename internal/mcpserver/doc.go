// Package mcpserver serves tasks by the Model Context Protocol: to a program on standard input and output, and at /mcp of
// the API. Each tool is one or two requests to omoi's API with the credential of the caller, so that the scopes of the
// credential hold.
package mcpserver

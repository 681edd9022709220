package mcpserver

import (
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
)

// Handler returns the handler of a server whose tools send requests by a way to the API, with the credential of each request,
// which its header Authorization holds. It has no sessions: any number of processes serve the same clients.
func Handler(way http.RoundTripper, version string) http.Handler {
	m := New(Config{Version: version, API: func(h http.Header) (*client.Client, error) {
		return client.Via(way, strings.TrimPrefix(h.Get("Authorization"), bearer)), nil
	}})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, &mcp.StreamableHTTPOptions{
		Stateless: true, DisableLocalhostProtection: true, // the API checks names of hosts, and knows those of a reverse proxy
	})
}

const bearer = "Bearer "

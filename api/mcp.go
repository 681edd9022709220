package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// mcpPath is the route of the Model Context Protocol. It is not an operation of the OpenAPI document.
const mcpPath = "/mcp"

func (a *API) registerMCP() {
	if a.deps.MCP == nil {
		return
	}
	a.known(http.MethodPost, mcpPath)
	a.routes.POST(mcpPath, a.serveMCP)
}

// serveMCP passes a request on with its credential in the header Authorization. The tools use it for requests of their
// own, which check its scope.
func (a *API) serveMCP(c *gin.Context) {
	limited, cancel := a.limited(c.Request.Context())
	defer cancel()
	if _, err := a.admit(c.Request.WithContext(limited), "", accessRead); err != nil {
		challenge(c.Writer.Header(), err)
		a.writeError(c.Writer, c.Request, err)
		return
	}
	r := c.Request.Clone(limited)
	r.Header.Set("Authorization", "Bearer "+credentialOf(c.Request))
	r.Body = http.MaxBytesReader(c.Writer, r.Body, maxBody)
	a.deps.MCP.ServeHTTP(c.Writer, r)
}

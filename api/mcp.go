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
	handler := a.deps.MCP(a)
	a.routes.POST(mcpPath, func(c *gin.Context) { a.serveMCP(c, handler) })
}

// serveMCP passes a request on with its credential in the header Authorization. The tools use it for requests of their
// own, which check its scope.
func (a *API) serveMCP(c *gin.Context, handler http.Handler) {
	if _, err := a.admit(c.Request, "", accessRead); err != nil {
		challenge(c.Writer.Header(), err)
		a.writeError(c.Writer, c.Request, err)
		return
	}
	r := c.Request.Clone(c.Request.Context())
	r.Header.Set("Authorization", "Bearer "+credentialOf(c.Request))
	r.Body = http.MaxBytesReader(c.Writer, r.Body, maxBody)
	handler.ServeHTTP(c.Writer, r)
}

package mcpserver

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Addresses of the resources of a task.
const (
	scheme         = "omoi://task/"
	receiptSuffix  = "/receipt"
	transcriptName = "/transcript"
)

func (s *server) addResources(m *mcp.Server) {
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "receipt", URITemplate: scheme + "{task}" + receiptSuffix, MIMEType: "application/json",
		Description: "Deletion receipt of a task: each sandbox, its work, and whether its deletion is verified.",
	}, s.resource(receiptSuffix, receipt))
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "transcript", URITemplate: scheme + "{task}" + transcriptName, MIMEType: "application/jsonl",
		Description: "Newest transcript of a task: the session of its agent, one JSON object for each line, cut after 60,000 bytes.",
	}, s.resource(transcriptName, transcript))
}

// resource returns the handler of a resource of a task.
func (s *server) resource(suffix string, read func(context.Context, *client.Client, string) (string, error)) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		ref := strings.TrimSuffix(strings.TrimPrefix(uri, scheme), suffix)
		api, err := s.API(headers(req.Extra))
		if err != nil {
			return nil, public(err)
		}
		text, err := read(ctx, api, ref)
		if task.CodeOf(err) == task.CodeNotFound {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: text}}}, public(err)
	}
}

func receipt(ctx context.Context, api *client.Client, ref string) (string, error) {
	found, err := api.Receipt(ctx, ref)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(found, "", "  ")
	return string(text), err
}

func transcript(ctx context.Context, api *client.Client, ref string) (string, error) {
	all, err := api.Transcripts(ctx, ref)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", task.Errorf(task.CodeNotFound, "Task %s has no transcript.", ref)
	}
	var text head
	if err := api.WriteTranscript(ctx, ref, all[len(all)-1].RunID, &text); err != nil && !text.cut {
		return "", err
	}
	return text.String(), nil
}

package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// ticketOrReport is a new ticket or, with a report, the similar tasks for which there is none.
type ticketOrReport struct {
	ticket client.LegacyTicket
	report *client.DuplicateReport
}

// MarshalJSON implements [json.Marshaler].
func (t ticketOrReport) MarshalJSON() ([]byte, error) {
	if t.report != nil {
		return json.Marshal(t.report)
	}
	return json.Marshal(t.ticket)
}

// Schema implements [huma.SchemaProvider].
func (ticketOrReport) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{schemaOf[client.LegacyTicket](r), schemaOf[client.DuplicateReport](r)}}
}

func (a *API) createLegacyTicket(ctx context.Context, in *rawIn) (*bodyOut[ticketOrReport], error) {
	var said client.CreateLegacyTicketRequest
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	asked, err := ticketOf(said)
	if err != nil {
		return nil, err
	}
	made, err := a.createTicket(ctx, &bodyIn[client.CreateTicketRequest]{asked})
	if alike, ok := errors.AsType[*alikeError](err); ok {
		return body(ticketOrReport{report: &alike.report}, nil)
	}
	if err != nil {
		return nil, err
	}
	return body(ticketOrReport{ticket: legacyTicket(made.Body)}, nil)
}

// ticketOf returns a request in the form of omoi. The decoder of the legacy form checks types only.
func ticketOf(said client.CreateLegacyTicketRequest) (client.CreateTicketRequest, error) {
	asked := client.CreateTicketRequest{
		ProjectID: said.ProjectID, Title: said.Title, Description: said.Description,
		PhaseID: cmp.Or(said.PhaseID, "PHASE_REQUIREMENTS"), Priority: said.Priority,
		CheckDuplicates: said.CheckDuplicates, SimilarityThreshold: said.SimilarityThreshold, ForceCreate: said.ForceCreate,
	}
	if asked.ProjectID == "" {
		asked.Repo = repoOf(said.GitHubOwner, said.GitHubRepo)
	}
	if said.WorkflowMode == "spec_driven" {
		return asked, task.Invalid("workflow_mode", "omoi has no spec_driven mode: a ticket starts one task. Next: send quick, and describe the steps")
	}
	if len(said.Dependencies.BlockedBy)+len(said.Dependencies.Blocks) > 0 {
		return asked, task.Invalid("dependencies", "Tickets cannot depend on tickets. Next: set dependencies of their tasks")
	}
	if t := said.SimilarityThreshold; t != nil && (*t < 0 || *t > 1) {
		return asked, task.Invalid("similarity_threshold", "The similarity_threshold must be a number from 0 to 1.")
	}
	if asked.ProjectID+asked.Repo == "" {
		return asked, task.Invalid("project_id", "Missing project: a ticket needs a repository. Next: send project_id, or github_owner and github_repo")
	}
	return asked, nil
}

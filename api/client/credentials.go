package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/omoi-dev/omoi/internal/credential"
)

// Credential is a credential without its secret.
type Credential = credential.Credential

// SetCredentialRequest is a credential to store.
type SetCredentialRequest struct {
	Secret    string `json:"secret" doc:"The key or token itself, 8 bytes to 16 KiB without blanks. No answer contains it."`
	Scope     string `json:"scope,omitempty" enum:"user,project,organization" doc:"Owner of the credential; project and organization need the scope admin. Default: user, the caller."`
	ProjectID string `json:"project_id,omitempty" doc:"ID or key of the owning project; required with the scope project, rejected with others."`
	Number    int    `json:"number,omitempty" minimum:"1" maximum:"9" doc:"Order among the credentials of this owner and kind: while number 1 is rate limited, new attempts use number 2, and so on. Not for github. Default: 1."`
	Bearer    bool   `json:"bearer,omitempty" doc:"Kind anthropic only: send the key as Authorization: Bearer, as some compatible endpoints expect. Default: false."`
	BaseURL   string `json:"base_url,omitempty" doc:"URL of a compatible endpoint, without user and query; rejected for the kinds github and claude_oauth. Default: the model provider's own."`
	credential.Models
}

// TestCredentialRequest names the credential to test.
type TestCredentialRequest struct {
	ProjectID string `json:"project_id,omitempty" doc:"ID or key of a project: test the credential that a task of this project would use. Default: no project."`
	Number    int    `json:"number,omitempty" minimum:"1" maximum:"9" doc:"Number of the credential to test. Default: the first."`
}

// SetCredential stores a credential and replaces the previous one.
func (c *Client) SetCredential(ctx context.Context, kind string, in SetCredentialRequest) (Credential, error) {
	return answer[Credential](ctx, c, call{method: http.MethodPut, path: item("credentials", kind), body: in})
}

// Credentials lists the credentials that the caller can see, without secrets.
func (c *Client) Credentials(ctx context.Context) ([]Credential, error) {
	return all[Credential](ctx, c, prefix+"/credentials")
}

// RemoveCredential deletes a credential; an empty scope is the caller's own, and the number 0 the first.
func (c *Client) RemoveCredential(ctx context.Context, kind, scope, projectID string, number int) error {
	q := query("scope", scope, "project_id", projectID)
	if number != 0 {
		q.Set("number", strconv.Itoa(number))
	}
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("credentials", kind), query: q}, nil)
	return err
}

// TestCredential tests the caller's effective credential at its provider; 0 is the first.
func (c *Client) TestCredential(ctx context.Context, kind, projectID string, number int) (credential.Test, error) {
	return answer[credential.Test](ctx, c, call{
		method: http.MethodPost, path: item("credentials", kind, "test"), body: TestCredentialRequest{ProjectID: projectID, Number: number},
	})
}

// RotateCredentials encrypts all credentials with the server's first key.
func (c *Client) RotateCredentials(ctx context.Context) (credential.Rotation, error) {
	return answer[credential.Rotation](ctx, c, call{method: http.MethodPost, path: prefix + "/credentials/rotate"})
}

package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/omoi-dev/omoi/internal/credential"
)

// Credential is one without its secret.
type Credential = credential.Summary

// NewCredential is a credential that is to be kept.
type NewCredential struct {
	Secret    string `json:"secret" doc:"The key or token itself; no answer ever holds it"`
	Scope     string `json:"scope,omitempty" enum:"user,project,organization" doc:"Whose it becomes; default: the caller's own. The others need the scope admin"`
	ProjectID string `json:"project_id,omitempty" doc:"Of the scope project"`
	Bearer    bool   `json:"bearer,omitempty" doc:"Send a model's key as Authorization: Bearer, as some compatible endpoints ask for"`
	BaseURL   string `json:"base_url,omitempty" doc:"Of a compatible endpoint; default: the provider's own"`
	credential.Models
}

// CredentialQuestion asks whether a credential works.
type CredentialQuestion struct {
	ProjectID string `json:"project_id,omitempty" doc:"Test what a task of this project would be given"`
}

// SetCredential keeps a credential in place of the one before.
func (c *Client) SetCredential(ctx context.Context, kind string, in NewCredential) (Credential, error) {
	var made Credential
	_, err := c.do(ctx, call{method: http.MethodPut, path: item("credentials", kind), body: in}, &made)
	return made, err
}

// Credentials lists what the caller can see, without secrets.
func (c *Client) Credentials(ctx context.Context) ([]Credential, error) {
	var page Page[Credential]
	_, err := c.do(ctx, call{method: http.MethodGet, path: prefix + "/credentials"}, &page)
	return page.Items, err
}

// RemoveCredential deletes one; an empty scope is the caller's own.
func (c *Client) RemoveCredential(ctx context.Context, kind, scope, projectID string) error {
	q := url.Values{}
	set(q, "scope", scope)
	set(q, "project_id", projectID)
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("credentials", kind), query: q}, nil)
	return err
}

// TestCredential asks the provider whether the credential works that the caller would work with.
func (c *Client) TestCredential(ctx context.Context, kind, projectID string) (credential.Trial, error) {
	var v credential.Trial
	_, err := c.do(ctx, call{method: http.MethodPost, path: item("credentials", kind, "test"), body: CredentialQuestion{ProjectID: projectID}}, &v)
	return v, err
}

// RotateCredentials encrypts all of them under the server's first key.
func (c *Client) RotateCredentials(ctx context.Context) (credential.Rotation, error) {
	var done credential.Rotation
	_, err := c.do(ctx, call{method: http.MethodPost, path: prefix + "/credential-rotation"}, &done)
	return done, err
}

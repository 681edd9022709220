// Package credential keeps what agents and git need to log in elsewhere: keys of models, tokens of
// git hosts. Each belongs to a user, a project or an organization, is encrypted at rest, and is
// found for a task in that order; what the installation itself is configured with comes last.
package credential

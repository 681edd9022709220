// Package credential stores the credentials of agents and Git: keys of model providers and tokens of Git hosts. A
// credential belongs to a user, a project or an organization and is encrypted at rest. A task uses the first credential
// that exists in this order: user, project, organization, configuration of the installation. Of several credentials of
// one owner and kind, a task uses the first that is not rate limited.
package credential

// Package github is the Git host for GitHub and GitHub Enterprise servers.
//
// Branches, claims and pull requests use the REST API; commits use git over HTTPS. Package localgit opens the bundle
// of a sandbox in a temporary copy on this machine, and git pushes from the copy, so that no credential enters a
// sandbox. git reads the token from a pipe: no URL, file, environment or command line contains the token.
//
// The repository itself stores the state of omoi:
//
//	refs/omoi/tasks/<ticket>/<task>/<branch>  the task owns the branch; the commit is the base commit
//	refs/omoi/heads/<branch>                  last pushed commit, from which a deleted branch is restored
//	refs/omoi/rescue/<name>                   rescued work of a deleted sandbox
package github

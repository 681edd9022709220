// Package github hosts git repositories on GitHub, or on a GitHub Enterprise server.
//
// Branches, claims and pull requests go through its REST API, commits through git over https. What a sandbox
// sent is opened in a throw-away copy on this machine by package localgit and pushed from there, so that no
// credential enters a sandbox. The token reaches git through a pipe: it stands in no URL, file, environment or
// command line.
//
// What omoi remembers lies in the repository itself:
//
//	refs/omoi/tasks/<ticket>/<task>/<branch>  whose branch it is, at the commit from which it began
//	refs/omoi/heads/<branch>                  where omoi last pushed it; it is made again from here
//	refs/omoi/rescue/<name>                   uncommitted work of a sandbox that is gone
package github

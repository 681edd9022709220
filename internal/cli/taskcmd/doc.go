// Package taskcmd implements the commands that are clients of the API. The commands use only public routes, except for
// sandbox shell, exec and prune, which also connect to a sandbox provider.
package taskcmd

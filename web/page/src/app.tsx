import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, Navigate, Outlet, useLocation, useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import { Banners } from "./banners";
import { fleetSearch } from "./fleet/search";
import { compareSearch } from "./compare/search";
import { Home } from "./home/home";
import { homeSearch } from "./home/search";
import { OmoiError, said } from "./lib/api";
import { focus, goToActions, useKeys } from "./lib/keyboard";
import { AllKeys } from "./lib/keys";
import { useMay } from "./lib/session";
import { Text } from "./lib/text";
import { newSearch } from "./new/search";
import { changesSearch } from "./review/search";
import { settingsSearch } from "./settings/search";
import { SignIn } from "./signin";
import { SandboxPage } from "./task/sandbox";
import { TaskPage } from "./task/page";
import { taskSearch } from "./task/search";

export function makeRouter() {
  const root = createRootRoute({ component: Shell, notFoundComponent: Nothing });
  const routes = [
    createRoute({ getParentRoute: () => root, path: "/", component: () => <Navigate to="/tasks" replace /> }),
    createRoute({ getParentRoute: () => root, path: "/tasks", component: Home, validateSearch: homeSearch }),
    createRoute({ getParentRoute: () => root, path: "/tasks/new", component: lazyRouteComponent(() => import("./new/page"), "NewTask"), validateSearch: newSearch }),
    createRoute({ getParentRoute: () => root, path: "/sandbox/new", component: () => <Navigate to="/tasks/new" replace /> }),
    createRoute({ getParentRoute: () => root, path: "/tasks/$id", component: TaskPage, validateSearch: taskSearch }),
    createRoute({ getParentRoute: () => root, path: "/tasks/$id/changes", component: lazyRouteComponent(() => import("./review/page"), "ChangesPage"), validateSearch: changesSearch }),
    createRoute({ getParentRoute: () => root, path: "/tasks/$id/replay", component: lazyRouteComponent(() => import("./replay/page")) }),
    createRoute({ getParentRoute: () => root, path: "/compare", component: lazyRouteComponent(() => import("./compare/page")), validateSearch: compareSearch }),
    createRoute({ getParentRoute: () => root, path: "/sandbox/$id", component: SandboxPage }),
    createRoute({ getParentRoute: () => root, path: "/fleet", component: lazyRouteComponent(() => import("./fleet/page"), "Fleet"), validateSearch: fleetSearch }),
    createRoute({ getParentRoute: () => root, path: "/settings", component: lazyRouteComponent(() => import("./settings/page"), "Settings"), validateSearch: settingsSearch }),
  ];
  return createRouter({ routeTree: root.addChildren(routes), defaultErrorComponent: Broken, defaultPreload: false, scrollRestoration: false });
}

/** The frame of all pages. */
function Shell(): ReactNode {
  const [help, showHelp] = useState(false);
  usePageKeys(() => showHelp(true));
  const may = useMay("write"), here = useLocation().pathname, content = useRef<HTMLElement>(null);
  useContentFocus(content);
  return (
    <div className="frame">
      <header className="top">
        <a className="skip" href="#content">Skip to content</a>
        <Link to="/tasks" className="brand">omoi</Link>
        <nav aria-label="Pages">
          <Link to="/tasks" activeOptions={{ exact: here === "/tasks/new" }}>Tasks</Link>
          {may && <Link to="/tasks/new">New<span className="wide"> task</span></Link>}
          <Link to="/fleet">Fleet</Link>
          <Link to="/settings">Settings</Link>
        </nav>
      </header>
      <Banners />
      <main ref={content} className="content" id="content" tabIndex={-1}>
        <Outlet />
      </main>
      {help && <AllKeys close={() => showHelp(false)} />}
      <SignIn />
    </div>
  );
}

/** Puts the focus on the content of a page that the reader opened, if the element that had it is gone. */
function useContentFocus(content: RefObject<HTMLElement | null>): void {
  const router = useRouter();
  useEffect(() => router.subscribe("onRendered", ({ fromLocation, pathChanged }) => {
    if (fromLocation !== undefined && pathChanged && document.activeElement === document.body) {
      content.current?.focus({ preventScroll: true });
    }
  }), [router, content]);
}

function usePageKeys(help: () => void): void {
  const navigate = useNavigate();
  useKeys((event, before) => {
    if (before === "g" && event.key === "t") {
      void navigate({ to: "/tasks" });
    }
    if (before === "g" && event.key === "f") {
      void navigate({ to: "/fleet" });
    }
    if (event.key === "c") {
      event.preventDefault();
      void navigate({ to: "/tasks/new" });
    }
    if (event.key === "/") {
      focus(event, "input[type=search]");
    }
    if (event.key === "m") {
      focus(event, ".composer textarea");
    }
    if (event.key === ".") {
      goToActions(event);
    }
    if (event.key === "o") {
      document.querySelector<HTMLElement>("a[data-pull-request]")?.click();
    }
    if (event.key === "?") {
      help();
    }
  });
}

function Nothing(): ReactNode {
  return <div className="empty"><h1>Not found</h1><p className="muted">This address has no page.</p><p><Link to="/tasks">All tasks</Link></p></div>;
}

/** A part that failed does not take the frame with it, and is tried again after the next link. */
function Broken({ error }: { error: unknown }): ReactNode {
  return (
    <div className="empty" role="alert">
      <h1>This part of the page failed</h1>
      <p className="muted"><Text of={error instanceof OmoiError ? said(error) : String(error)} /></p>
      <p>Next: reload the page. Tasks are not affected.</p>
    </div>
  );
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}

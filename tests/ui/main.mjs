/* SPDX-License-Identifier: GPL-2.0-or-later */
// node main.mjs FOLDER SHOTS: all tests of the page, in one browser.
import { run } from "./drive.mjs";
import "./page.test.mjs";
import "./diff.test.mjs";
import "./runtimes.test.mjs";
import "./requests.test.mjs";

process.exit((await run()) ? 1 : 0);

/** VitePress's own theme, with tables and code that fit a phone. */
import Theme from "vitepress/theme";
import "./style.css";

export default Theme;

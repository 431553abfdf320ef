/**
 * Colours and sizes are CSS custom properties of the page, as those of the dialog; without them the colours of the text around it and the
 * page's color scheme count. No comments inside: the text is shipped.
 */
export const STYLE = `
:host{display:block;container-type:inline-size;color-scheme:var(--latchkey-color-scheme);--accent:var(--latchkey-accent,light-dark(#3a48d4,#aab4ff));--danger:var(--latchkey-danger,light-dark(#a8201a,#ffb3ad));--radius:min(var(--latchkey-radius,14px),10px);color:var(--latchkey-text,inherit);font:1rem/1.5 var(--latchkey-font,system-ui);overflow-wrap:anywhere}
[hidden]{display:none!important}
*{box-sizing:border-box}
ul,p{margin:0;padding:0;list-style:none}
li{display:grid;grid-template-columns:2.5rem minmax(0,1fr) auto;gap:.25rem .875rem;align-items:center;padding:.75rem 0;border-bottom:1px solid #8886}
li:last-child{border-bottom:0}
ul:has(+details:not([hidden])){border-bottom:1px solid #8886}
.icon{display:grid;place-items:center;width:2.5rem;height:2.5rem;border-radius:var(--radius);background:color-mix(in srgb,var(--accent) 12%,#0000);color:var(--accent)}
svg{width:1.5rem;height:1.5rem;fill:none;stroke:currentColor;stroke-width:1.9;stroke-linecap:round;stroke-linejoin:round}
strong{font-weight:600}
.out .icon{background:#8882;color:inherit}
.out strong{font-weight:500}
.tag{padding:.125rem .5rem;border-radius:99px;background:color-mix(in srgb,var(--accent) 12%,#0000);color:var(--accent);font-size:.75rem;font-weight:600;white-space:nowrap}
.text p+p,[role=status]{font-size:.875rem;opacity:.8}
.text .online,.text .away{opacity:1}
.online{color:light-dark(#13653f,#8fe0b4)}
.away{color:light-dark(#7a4d00,#f4ca72)}
.online::before,.away::before{content:'';display:inline-block;width:.5rem;height:.5rem;margin-inline-end:.4rem;border-radius:50%;background:currentColor}
time{white-space:nowrap}
.actions,form,.question{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center}
li>.question{grid-column:2/-1}
.question p{flex:1 0 100%;font-weight:600}
.asking>.actions{display:none}
.below:has(button:not([hidden])){margin-top:.75rem}
summary{padding:.5rem 0;font-size:.875rem;font-weight:600;cursor:pointer}
[role=status]:not(:empty){padding:.5rem 0}
.trouble{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;padding:.5rem 0;color:var(--danger)}
button,input{min-height:2.25rem;padding:.25rem .75rem;border:1px solid #8888;border-radius:var(--radius);background:0;color:inherit;font:inherit;font-size:.875rem}
button{font-weight:600;cursor:pointer}
button:hover{border-color:currentColor}
.danger{color:var(--danger)}
.main{border-color:#0000;background:var(--accent);color:var(--latchkey-accent-text,light-dark(#fff,#12163f))}
[aria-disabled=true]{opacity:.6;cursor:progress}
input{flex:1;min-width:8rem;font-size:1rem}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.editing{grid-template-columns:2.5rem minmax(0,1fr)}
.editing .text,.editing .actions{display:none}
@container (width<28rem){
li{grid-template-columns:2.5rem minmax(0,1fr)}
.actions,form,li>.question{grid-column:1/-1}
.actions button,.question button{flex:1}
.editing .icon{display:none}
}
@media (forced-colors:active){
.online::before,.away::before{forced-color-adjust:none;background:CanvasText}
}
`;

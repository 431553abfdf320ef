import { useData } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { onMounted, watch } from 'vue';
import './style.css';

export default {
  extends: theme,
  setup() {
    const { frontmatter } = useData();
    // VitePress gives its home page no main landmark, which screen readers jump to.
    const mark = (): void => {
      const isHome = frontmatter.value['layout'] === 'home';
      document.getElementById('VPContent')?.setAttribute('role', isHome ? 'main' : 'presentation');
    };
    onMounted(() => watch(frontmatter, mark, { immediate: true, flush: 'post' }));
  },
};
